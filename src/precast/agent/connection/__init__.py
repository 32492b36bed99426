"""The one connection to a server: the websocket, the session on it, the exchange of records, and when to reconnect."""
