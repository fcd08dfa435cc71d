"""The first screen of a report: the headline, which groups, which sentences, how sure."""
