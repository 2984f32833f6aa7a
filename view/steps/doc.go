// Package steps reads an attempt at an instance page by page: for a viewer of attempts whose
// journals are large, and grow while people read them.
//
// [Open] makes an [Attempt] of a journal, or of a finished trajectory: a file of batch, of
// mini-swe-agent, of SWE-agent, or in ATIF. A [Cache] shares attempts between readers. A journal is never in
// memory as a whole: see [journal.Index]. [Attempt.Update] reads only what was appended.
//
// A journal is read as people may read it, see [journal.Shown]. Secrets of the reader's mask are hidden
// too, in all texts and bytes that it returns. Bytes that are not UTF-8 are
// U+FFFD in texts; [Attempt.Output] returns them as they were. The types have JSON tags: a
// page's JSON twin has them.
package steps
