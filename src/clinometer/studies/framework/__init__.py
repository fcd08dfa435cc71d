"""What all studies share: plans, audits that resume, pages."""
