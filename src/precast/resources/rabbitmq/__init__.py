"""Plug-ins and virtual hosts of RabbitMQ."""
