package imagecache

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// Note is what is saved about the git repository of an image.
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
func (c *Cache) Note(key string) (Note, bool) { return c.ledger.note(key) }

// Remember saves n under key, for every run on the engine.
func (c *Cache) Remember(key string, n Note) error { return c.ledger.remember(key, n) }

func (l *Ledger) note(key string) (Note, bool) {
	var n Note
	if readJSON(l.notePath(key), &n) != nil || n.Made.IsZero() {
		return Note{}, false
	}
	return n, true
}

func (l *Ledger) remember(key string, n Note) error {
	n.Made = time.Now()
	return writeJSON(l.notePath(key), n)
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
