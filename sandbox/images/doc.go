// Package images decides which images are on a container engine. It pulls images
// before the instances that need them begin, and evicts images that it pulled when the
// disk is nearly full or a budget is exceeded.
//
// A [Ledger] is a directory for one engine, which all runs of a user on this machine
// share. It lists the images that batch pulled: only those are ever evicted. All other
// images are the user's. An image in the ledger also counts as the user's if its name now
// refers to another image, because the user pulled it again. So does an image if its pull
// was killed before the ledger was written.
//
// A [Cache] serves one run. [Cache.Acquire] waits while disk space is short instead
// of failing, pulls the image if it is missing and holds it until it is released. An
// image is never evicted while a run holds it or a container uses it, and only as a last
// resort if the run's plan needs it next. First evicted are the images that the rest of the
// run does not need, least recently needed first; then the others, latest needed first.
//
// The results of scrubbing the git history of images are saved beside the ledger: see
// [Cache.Note].
//
// The package does not know Docker: it uses the small interface [Engine].
//
// Its API is not promised to other programs: see package batch.
package images
