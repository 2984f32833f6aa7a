// Package imagecache decides which images are on a container engine: it pulls
// ahead of the instances that need them, and evicts what it pulled when the
// disk or a budget asks for it.
//
// A [Ledger] is a directory of one engine that all runs of a user on this
// machine share. It says which images batch pulled: only those are ever
// evicted. What is not in it was the user's before, and an image that the user
// has pulled again since, so that its name means another one, is the user's
// too; so is one whose pull was killed before the ledger was written.
//
// A [Cache] serves one run. [Cache.Acquire] waits while room is short instead
// of failing, makes sure of the image and holds it until it is released. An
// image is never evicted while anyone holds it, while any container has it,
// or while the run's plan needs it next. Of the others, those that the rest of
// the run does not need go first, the least recently needed before; then those
// needed latest.
//
// An image may be made of another one on the engine, [Cache.Derive]: it is in the
// ledger too, and goes before that one, or after it when that one has gone by other
// hands. What scrubs of images came to is noted beside the ledger, [Cache.Note].
//
// The package knows no engine: it asks for a small [Engine].
package imagecache
