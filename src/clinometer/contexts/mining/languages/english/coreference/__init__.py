"""Does the word of Y refer to the subject?"""
