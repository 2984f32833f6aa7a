package imagecache

import (
	"cmp"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

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
