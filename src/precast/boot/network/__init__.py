"""What a machine's network shall be: read from every form that clouds use, held in one model, written for whatever the machine runs."""
