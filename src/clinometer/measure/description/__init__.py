"""What describes a distribution of stereotypes or risks."""
