"""The API over HTTPS: it parses and authorises requests, calls services, and answers.

`http` is the server itself, `sessions` the websocket connections of nodes, and every other room has the routes of one feature.
"""
