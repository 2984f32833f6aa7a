package images

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// Note has the facts that are saved about the git repository of an image.
type Note struct {
	Clean   bool      `json:"clean"`          // a scrub found nothing to remove
	Seconds float64   `json:"seconds"`        // how long the scrub took
	Base    string    `json:"base,omitempty"` // what the comparison with a commit printed
	Made    time.Time `json:"made"`
}

// noteLife is how long a note is kept after it was last written.
const noteLife = 180 * 24 * time.Hour

// maxNote bounds the file of a note, in bytes.
const maxNote = 1 << 20

// notes is the directory of the notes, with one file for each. If a file is damaged, cannot be
// written, or may be somebody else's, the only harm is that the scrub is done again.
func (l *Ledger) notes() string { return filepath.Join(l.dir, "notes") }

// keyName is the name of a key's file in the ledger's folders.
func keyName(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:32] }

func (l *Ledger) notePath(key string) string { return filepath.Join(l.notes(), keyName(key)+".json") }

// Note returns the note that was saved under key. The key contains everything that the
// result depends on.
func (c *Cache) Note(key string) (Note, bool) {
	var n Note
	if readJSON(c.ledger.notePath(key), &n) != nil || n.Made.IsZero() {
		return Note{}, false
	}
	return n, true
}

// Remember saves n under key, for every run on the engine.
func (c *Cache) Remember(key string, n Note) error {
	n.Made = time.Now()
	return writeJSON(c.ledger.notePath(key), n)
}

func readJSON(path string, v any) error {
	file, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !regular.Own(info) {
		return fs.ErrPermission
	}
	return json.NewDecoder(io.LimitReader(file, maxNote)).Decode(v)
}

func writeJSON(path string, v any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Files{}.WriteUnsynced(path, 0o644, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
}

// sweepNotes removes old notes. A note that cannot be removed does no harm.
func (l *Ledger) sweepNotes() {
	entries, _ := os.ReadDir(l.notes())
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > noteLife {
			_ = os.Remove(filepath.Join(l.notes(), e.Name()))
		}
	}
}

// outcomesBytes is how much the outcomes of scrubs may use together, for each engine.
const outcomesBytes = 64 << 20

// outcomes is the directory of what scrubs of git histories have found out, a file for each:
// the SHA-256 of the key and the outcome, and the outcome. Only this user may read and write
// them: a later run hides what an outcome says.
func (l *Ledger) outcomes() string { return filepath.Join(l.dir, "outcomes") }

func (l *Ledger) outcomePath(key string) string { return filepath.Join(l.outcomes(), keyName(key)) }

func outcomeSum(key, outcome string) string {
	sum := sha256.Sum256([]byte(key + "\n" + outcome))
	return string(sum[:])
}

// Outcome returns what was saved under key; empty if there is nothing, or if it is damaged or
// others may have written it.
func (c *Cache) Outcome(key string) string {
	path := c.ledger.outcomePath(key)
	file, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !regular.Own(info) || info.Mode().Perm()&0o077 != 0 || info.Size() > outcomesBytes {
		return ""
	}
	data, err := io.ReadAll(file)
	if err != nil || len(data) < sha256.Size {
		return ""
	}
	sum, outcome := string(data[:sha256.Size]), string(data[sha256.Size:])
	if sum != outcomeSum(key, outcome) {
		return ""
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // otherwise it is removed earlier
	return outcome
}

// KeepOutcome saves an outcome under key, for later runs on the engine, and removes the ones
// that were used longest ago if all together are too large.
func (c *Cache) KeepOutcome(key, outcome string) error {
	dir := c.ledger.outcomes()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := atomicfile.Files{}.WriteUnsynced(c.ledger.outcomePath(key), 0o600, atomicfile.Bytes([]byte(outcomeSum(key, outcome)+outcome)))
	if err != nil {
		return err
	}
	c.ledger.trimOutcomes(outcomesBytes)
	return nil
}

func (l *Ledger) outcomeFiles() (files []fs.FileInfo) {
	entries, _ := os.ReadDir(l.outcomes())
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// trimOutcomes leaves the files that were used last, up to a size together. One that cannot be
// removed is removed by a later run.
func (l *Ledger) trimOutcomes(size int64) {
	files := l.outcomeFiles()
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if size -= f.Size(); size < 0 {
			_ = os.Remove(filepath.Join(l.outcomes(), f.Name()))
		}
	}
}

// Outcomes returns how many bytes all outcomes have.
func (l *Ledger) Outcomes() (bytes int64) {
	for _, f := range l.outcomeFiles() {
		bytes += f.Size()
	}
	return bytes
}

// DropOutcomes removes all outcomes.
func (l *Ledger) DropOutcomes() error { return os.RemoveAll(l.outcomes()) }
