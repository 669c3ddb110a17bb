"""Alembic's entry: migrations run on the connection that `engine` has opened, in its transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
