// Package control lets other programs watch and change work in a run directory while it runs:
// a run, a sweep, or grading. A [Server] listens on a Unix socket in the directory; a [Client]
// talks to it.
//
// The socket, control.sock, has mode 0600 from its beginning, and the server asks the system which
// user a connection belongs to: only the user who started the work, and root, are served. A client
// asks the same about the server, because others may have put a socket into a shared folder. The
// caller holds the directory's lock, so a socket that is found there belongs to a process that
// has ended, and is replaced.
//
// A [Status] has only ids, fixed words, numbers and times, unless its content is asked for. So a
// program that watches cannot be steered by what an agent printed.
//
// A [Command] is appended to control.jsonl and synced before it is carried out and answered. A command
// that is sent again with the same id is carried out once. [Log] has the commands that are in
// force when the work continues in another process.
//
// A client costs the work nothing: the server limits connections, sizes and times, and no
// attempt ever waits for a client.
//
// Its API is not promised to other programs: see package batch.
package control
