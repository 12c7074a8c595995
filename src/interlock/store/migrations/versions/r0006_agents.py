"""Rooms of the workspace chat, sessions and subagents, blocks and memories; tokens, what is told live; workflows."""

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql import sqltypes

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "feed",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("channel_id", sqltypes.AutoString(), nullable=True),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feed")),
    )
    op.create_index("ix_feed_created_at", "feed", ["created_at"], unique=False)
    op.create_table(
        "memory_versions",
        sa.Column("subject_id", sqltypes.AutoString(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("author_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("author_id", sqltypes.AutoString(), nullable=False),
        sa.Column("reason", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("subject_id", "version", name=op.f("pk_memory_versions")),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("person_id", sqltypes.AutoString(), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("digest", sqltypes.AutoString(), nullable=False),
        sa.Column("role", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("expires_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("used_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("revoked_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_api_tokens_person_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_tokens_digest")),
    )
    op.create_index(op.f("ix_api_tokens_person_id"), "api_tokens", ["person_id"], unique=False)
    op.create_table(
        "channels",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("name", sqltypes.AutoString(), nullable=False),
        sa.Column("topic", sqltypes.AutoString(), nullable=False),
        sa.Column("created_by", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("archived_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_channels_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channels")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_channels_project_id_key")),
    )
    op.create_table(
        "memories",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=False),
        sa.Column("scope", sqltypes.AutoString(), nullable=False),
        sa.Column("person_id", sqltypes.AutoString(), nullable=True),
        sa.Column("type", sqltypes.AutoString(), nullable=False),
        sa.Column("text", sqltypes.AutoString(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("decay", sa.Float(), nullable=False),
        sa.Column("digest", sqltypes.AutoString(), nullable=False),
        sa.Column("labels", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("used_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("decayed_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("archived_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_memories_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memories")),
        sa.UniqueConstraint("project_id", "scope", "digest", name=op.f("uq_memories_project_id_scope_digest")),
    )
    op.create_index(
        "ix_memories_weight",
        "memories",
        ["project_id", "scope", "importance", "id"],
        unique=False,
        sqlite_where=sa.text("archived_at IS NULL"),
        postgresql_where=sa.text("archived_at IS NULL"),
    )
    op.create_table(
        "memory_blocks",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("label", sqltypes.AutoString(), nullable=False),
        sa.Column("content", sqltypes.AutoString(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("labels", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("updated_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_memory_blocks_project_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_blocks")),
    )
    op.create_index(op.f("ix_memory_blocks_project_id"), "memory_blocks", ["project_id"], unique=False)
    op.create_table(
        "block_holders",
        sa.Column("block_id", sqltypes.AutoString(), nullable=False),
        sa.Column("persona", sqltypes.AutoString(), nullable=False),
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("label", sqltypes.AutoString(), nullable=False),
        sa.Column("can_write", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["block_id"], ["memory_blocks.id"], name=op.f("fk_block_holders_block_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("block_id", "persona", name=op.f("pk_block_holders")),
        sa.UniqueConstraint("project_id", "persona", "label", name=op.f("uq_block_holders_project_id_persona_label")),
    )
    op.create_table(
        "channel_members",
        sa.Column("channel_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("who", sqltypes.AutoString(), nullable=False),
        sa.Column("joined_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channels.id"], name=op.f("fk_channel_members_channel_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("channel_id", "kind", "who", name=op.f("pk_channel_members")),
    )
    op.create_table(
        "chat_messages",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("channel_id", sqltypes.AutoString(), nullable=False),
        sa.Column("parent_id", sqltypes.AutoString(), nullable=True),
        sa.Column("author_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("author", sqltypes.AutoString(), nullable=False),
        sa.Column("text", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("labels", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("idempotency_key", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("edited_at", sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channels.id"], name=op.f("fk_chat_messages_channel_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chat_messages")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_chat_messages_idempotency_key")),
    )
    op.create_index("ix_chat_messages_place", "chat_messages", ["channel_id", "seq"], unique=True)
    op.create_index(
        "ix_chat_messages_thread",
        "chat_messages",
        ["parent_id", "seq"],
        unique=False,
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )
    op.create_table(
        "memory_words",
        sa.Column("project_id", sqltypes.AutoString(), nullable=False),
        sa.Column("scope", sqltypes.AutoString(), nullable=False),
        sa.Column("word", sqltypes.AutoString(), nullable=False),
        sa.Column("memory_id", sqltypes.AutoString(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memories.id"], name=op.f("fk_memory_words_memory_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "scope", "word", "memory_id", name=op.f("pk_memory_words")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_memory_words_memory_id", "memory_words", ["memory_id"], unique=False)
    op.create_table(
        "chat_reactions",
        sa.Column("message_id", sqltypes.AutoString(), nullable=False),
        sa.Column("author_kind", sqltypes.AutoString(), nullable=False),
        sa.Column("author", sqltypes.AutoString(), nullable=False),
        sa.Column("emoji", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["chat_messages.id"], name=op.f("fk_chat_reactions_message_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message_id", "author_kind", "author", "emoji", name=op.f("pk_chat_reactions")),
    )
    op.create_table(
        "chat_rounds",
        sa.Column("message_id", sqltypes.AutoString(), nullable=False),
        sa.Column("channel_id", sqltypes.AutoString(), nullable=False),
        sa.Column("thread", sqltypes.AutoString(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("waiting", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["chat_messages.id"], name=op.f("fk_chat_rounds_message_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_chat_rounds")),
    )
    op.create_index("ix_chat_rounds_place", "chat_rounds", ["channel_id", "thread", "seq"], unique=False)
    op.create_index(
        "ix_chat_rounds_run_id",
        "chat_rounds",
        ["run_id"],
        unique=False,
        sqlite_where=sa.text("run_id IS NOT NULL"),
        postgresql_where=sa.text("run_id IS NOT NULL"),
    )
    op.create_table(
        "session_markers",
        sa.Column("id", sqltypes.AutoString(), nullable=False),
        sa.Column("agent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("from_seq", sa.Integer(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("summary", sqltypes.AutoString(), nullable=True),
        sa.Column("tokens_before", sa.Integer(), nullable=True),
        sa.Column("labels", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("made_by", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name=op.f("fk_session_markers_agent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session_markers")),
    )
    op.create_index("ix_session_markers_agent_id", "session_markers", ["agent_id", "id"], unique=False)
    op.create_table(
        "subagents",
        sa.Column("agent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("parent_id", sqltypes.AutoString(), nullable=False),
        sa.Column("parent_run_id", sqltypes.AutoString(), nullable=False),
        sa.Column("kind", sqltypes.AutoString(), nullable=False),
        sa.Column("label", sqltypes.AutoString(), nullable=True),
        sa.Column("key", sqltypes.AutoString(), nullable=False),
        sa.Column("purpose", sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("expires_at", sqltypes.UTCDateTime(), nullable=False),
        sa.Column("ended_at", sqltypes.UTCDateTime(), nullable=True),
        sa.Column("outcome", sqltypes.AutoString(), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name=op.f("fk_subagents_agent_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_subagents")),
    )
    op.create_index(
        "ix_subagents_parent",
        "subagents",
        ["parent_id"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "uq_subagents_live",
        "subagents",
        ["key"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "ix_tasks_open",
        "tasks",
        ["project_id"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.add_column("missions", sa.Column("workflow", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    """Revisions only go forward; a backup is the way back."""
    raise RuntimeError("interlock's schema only migrates forward: restore a backup instead")
