"""What a catalog is: its body and digest, the envelope it travels in, where its parts come from, the order it is applied in. Pure."""
