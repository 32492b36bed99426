"""Actions: what nodes shall do at which times, decided by a schedule on the server. Each due time that starts makes a job."""
