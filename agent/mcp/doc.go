// Package mcp gives an agent the tools of external servers that speak the Model Context
// Protocol, over stdin and stdout or over streamable HTTP. It uses the official Go SDK.
//
// Without a configured server nothing of this package runs. A server's tools are offered
// to the model only where [Server.Tools] names them; all others can be neither seen nor
// called. A tool is called SERVER__TOOL, with every character that providers refuse
// replaced by an underscore.
//
// # Where servers run
//
// A server with a command is a program that batch starts for each attempt: outside, on the
// machine where batch runs, or inside, in the attempt's container. One outside gets only
// the environment in its Server, without batch's own. It runs with the rights of
// batch, so it is as trusted as batch itself, while the model chooses its arguments. One
// inside has the rights and limits of the agent's commands, and the agent can change it. A
// server with a URL is reached from the machine where batch runs; inside, none can be.
//
// Each attempt has connections of its own, so no attempt sees another one's state.
// [Set.Close] ends them, the programs and everything that they started (a process that
// leaves its process group survives outside; package docker describes inside). When batch
// is killed, its end of the program's stdin closes: the program and what it has started must end
// with stdin then, as the protocol asks of servers.
//
// # What a model sees
//
// A result is the texts of its content, one after the other; images, audio and links are
// named in a line each, and structured content is shown if there is no other. A result
// that reports an error has exit code 1, and so does a call that the server refuses or does
// not answer in time. Descriptions and results are the server's words: a server can try to
// instruct the model with them.
//
// A tool is called together with others of the same reply if it declares itself read-only.
// That, too, is only the server's word.
//
// The list of tools is read once, at the beginning: later changes of a server are ignored, so
// that each request of an attempt offers the same tools.
//
// # When a connection breaks
//
// The next call connects again, once. A call that was under way may have had effects: it
// is repeated only if the tool declares itself read-only or idempotent, and otherwise the
// model reads that the outcome is unknown. If the second connection fails too, the call
// is a fault. A program that is started again has lost what it kept in memory.
//
// # When an attempt is resumed
//
// Calls with a result in the journal are not made again; a call that was under way is. In
// a new container the effects of calls to inside servers are missing, since they cannot be
// repeated, so the attempt counts as diverged.
//
// Its API is not promised to other programs: see package batch.
package mcp
