"""COBIAS: is a statement of a bias benchmark a reliable judge, or does context change it all?"""
