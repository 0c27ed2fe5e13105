"""Alembic's entry: run the scripts on the connection the ledger hands over."""

from alembic import context

if hasattr(context, "config"):  # Alembic is running; otherwise someone merely imports this file
    # One transaction a store: the ledger's own, which also holds the lock.
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
    context.run_migrations()
