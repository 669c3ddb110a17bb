"""The operator's pages: HTML from the server, without JavaScript, and the sessions in which they are seen."""
