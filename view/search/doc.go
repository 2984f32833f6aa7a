// Package search finds text in the attempts of many instances: in the model's texts, its commands, their
// outputs, and the patches.
//
// [Search] reads journals from the disk, record by record; finished files of other tools are read whole. It
// promises:
//
//   - Hits come in the order of the sources, and in a source in the order of its steps,
//     whatever is read at the same time.
//   - The first hit does not wait for the end: hits are handed over as they are found.
//   - It holds one record of each source that is being read, and two sources are read at once.
//   - Texts are compared decoded, without JSON's escapes and base64, so that the form in which a
//     journal has them never hides a hit.
//   - A hit is text that matches as it was recorded, and that still matches with its secrets
//     hidden. So a search cannot test whether a secret is in a journal. Excerpts have no secrets.
//   - Damage does not end a search. It is counted, and the other records are searched.
//
// Its API is not promised to other programs: see package batch.
package search
