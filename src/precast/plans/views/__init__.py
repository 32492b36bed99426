"""What explanations, comparisons, drawings and exports of plans share."""
