// Package imagecache decides which images are on a container engine. It pulls images
// before the instances that need them begin, and evicts images that it pulled when the
// disk is nearly full or a budget is exceeded.
//
// A [Ledger] is a directory for one engine, which all runs of a user on this machine
// share. It lists the images that batch pulled: only those are ever evicted. An image that
// is not in the ledger is the user's. So is an image of the ledger whose name now refers to
// another image, because the user pulled it again; and an image whose pull was killed
// before the ledger was written.
//
// A [Cache] serves one run. [Cache.Acquire] waits while disk space is short instead
// of failing, pulls the image if it is missing and holds it until it is released. An
// image is never evicted while a run holds it or a container uses it, and only as a last
// resort if the run's plan needs it next. First evicted are the images that
// the rest of the run does not need, in the order in which they were last needed; then the
// others, those that the run needs last before those that it needs soon.
//
// The results of scrubbing the git history of images are saved beside the ledger: see
// [Cache.Note].
//
// The package does not know Docker: it uses the small interface [Engine].
package imagecache
