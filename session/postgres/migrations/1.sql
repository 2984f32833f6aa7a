create schema if not exists batch;

create table batch.migrations (
    version int primary key,
    applied timestamptz not null default now()
);

-- opened counts the openings: only the last one may write.
create table batch.sessions (
    context_id    text primary key,
    status        text not null default 'created',
    turns         int not null default 0,
    retry         boolean not null default false,
    created       timestamptz not null default now(),
    last_activity timestamptz not null default now(),
    error         text not null default '',
    calls         int not null default 0,
    cost          double precision not null default 0,
    metadata      jsonb not null default '{}',
    opened        bigint not null default 0,
    size          bigint not null default 0
);
create index on batch.sessions (last_activity);

-- A session's journal is its rows' bytes, in order, without gaps.
create table batch.journal (
    context_id text not null references batch.sessions on delete cascade,
    at         bigint not null,
    bytes      bytea not null,
    primary key (context_id, at)
);

create table batch.messages (
    context_id text not null references batch.sessions on delete cascade,
    n          int not null,
    turn       int not null,
    role       text not null,
    content    text not null,
    message    text not null,
    primary key (context_id, n)
);

create table batch.artifacts (
    context_id text not null references batch.sessions on delete cascade,
    name       text not null,
    n          int not null,
    media_type text not null,
    turn       int not null,
    saved      timestamptz not null,
    data       bytea not null,
    primary key (context_id, name)
);
