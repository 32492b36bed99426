"""`precast report`: lists, shows and watches the reports of runs."""
