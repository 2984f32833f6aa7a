// Package grading grades predictions in a pool: each is tested in a fresh container of its
// instance's image, judged, recorded in the run directory's grades.jsonl and written to the
// log tree of the official harness. `batch grade` and `batch run --grade` use it.
//
// [Run] takes predictions from a source, which may grow while it works. For each it does this,
// in this order:
//
//   - An empty patch has its verdict at once, unless [Config.RunEmpty] is set.
//   - A row that cannot be graded is ungradeable, with the reason.
//   - The tests run, unless the [Cache] has the log of the same run: the same patch, script,
//     image and limits. A log comes from the cache, a verdict never does.
//   - If the patch changes files that decide what tests report, they run again without
//     these changes: see package evaluate.
//   - The files of the log tree are written, then the grade, which is durable before the
//     prediction counts as graded.
//
// A failure of the engine, the image or the machine is retried as the runner's retries say,
// then recorded with its blame, and the next pool grades the prediction again. It never
// counts as the prediction's failure.
//
// Its API is not promised to other programs: see package batch.
package grading
