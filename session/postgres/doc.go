// Package postgres keeps sessions in a PostgreSQL database, through database/sql. Package
// session describes what a store promises; this one keeps the same promises, so that
// programs on several machines can share it.
//
// [Migrate] makes the tables, in the schema batch. The truth about a session is its journal,
// whose bytes are in batch.journal. The other tables are for people and for queries, and
// each transaction that adds to the journal changes them too, so that they always say the
// same:
//
//	batch.sessions   a row for each session: its state, as of its last record
//	batch.messages   the conversation: content is the text of a message alone, message is
//	                 all of it, in JSON
//	batch.artifacts  what the sessions have made, byte for byte
//
// A status of busy means that a turn runs, or that the process which ran it has died: [List]
// tells the two apart. Times have microseconds there.
//
// PostgreSQL refuses some texts that Go and JSON allow. So message is a text and not of the
// type jsonb, which has no \u0000; content has U+FFFD in its place. Errors, names and
// metadata are in a row as they are, except those with a zero byte or a quote as the
// first character: they are quoted as in Go.
//
// # One process at a time
//
// An open store holds one connection of the pool, and on it an advisory lock: when the
// process or the connection ends, the lock does too. In addition, each opening counts
// batch.sessions.opened up, and a transaction with an older count changes nothing. So
// after a failure of the network there are never two writers, also behind a proxy which
// changes connections.
//
// If the connection is lost, what is written next fails with a fault of the kind
// [fault.Transient], and the turn fails. A later write connects again, if nobody has opened
// the session in between: what could not be written is written then. Otherwise every later
// write fails with [session.ErrInUse].
//
// Deleting a row of batch.sessions deletes everything about the session.
package postgres
