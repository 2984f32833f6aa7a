package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"batch.example/batch/audit"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results"
	"batch.example/batch/sandbox"
)

// keptLife is how long the findings in a directory are kept after the last report of it.
const keptLife = 30 * 24 * time.Hour

// keptAudits has what reports have found in the attempts of a directory: reading 500 attempts
// again takes seconds. It is a file of the state directory; without it, or if it is damaged,
// the attempts are read.
type keptAudits struct {
	path string
	mask *mask.Masker

	mu    sync.Mutex
	by    map[string]audited // by keptKey
	used  map[string]audited
	added bool
}

// openKept returns what is kept of a directory; nil without a state directory.
func (a *app) openKept(dir string) *keptAudits {
	state := sandbox.StateDir(a.getenv, a.home)
	dir, err := filepath.Abs(dir)
	if state == "" || err != nil {
		return nil
	}
	k := &keptAudits{
		path: filepath.Join(state, "audits", fmt.Sprintf("%x.json", sha256.Sum256([]byte(dir)))), mask: a.mask,
		used: map[string]audited{},
	}
	if data, err := regular.ReadFile(k.path); err != nil || json.Unmarshal(data, &k.by) != nil {
		k.by = nil
	}
	return k
}

// or returns the findings in the last attempt at an instance that are kept, or those that find
// returns.
func (k *keptAudits) or(dir, id string, rows rowsOf, find func() (audited, error)) (audited, error) {
	if k == nil {
		return find()
	}
	key := keptKey(dir, id, rows)
	k.mu.Lock()
	found, ok := k.by[key]
	k.mu.Unlock()
	if !ok || key == "" {
		var err error
		if found, err = find(); err != nil || key == "" {
			return found, err
		}
	}
	found.Directory = dir
	for i := range found.Found { // this process may know more secrets
		found.Found[i].Evidence = k.mask.Text(found.Found[i].Evidence)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used[key], k.added = found, k.added || !ok
	return found, nil
}

// save saves what this report has used, and removes what was not used for long. A failure costs
// the time of the next report.
func (k *keptAudits) save() {
	if k == nil {
		return
	}
	if !k.added && len(k.used) == len(k.by) {
		now := time.Now()
		_ = os.Chtimes(k.path, now, now) // otherwise it is removed earlier
		return
	}
	dir := filepath.Dir(k.path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = atomicfile.Files{}.WriteUnsynced(k.path, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(k.used) })
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keptLife {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// keptKey identifies all that the findings in the last attempt at an instance depend on: its files
// by their sizes and ends, the last line of a journal with its checksum among them, the dataset, and
// the detectors. It is empty if the instance has no journal.
func keptKey(dir, id string, rows rowsOf) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %q %q %q\n", audit.Version, id, rows.digest, rows.why)
	for _, path := range []string{results.JournalPath(dir, id), results.TrajectoryPath(dir, id)} {
		file, err := regular.Open(path)
		if err != nil {
			return ""
		}
		size, err := file.Seek(0, io.SeekEnd)
		const end = 4 << 10
		var last [end]byte
		n, _ := file.ReadAt(last[:], max(0, size-end)) //nolint:errcheck // what is not read is not in the key, but the size is
		_ = file.Close()                               // it was only read
		if err != nil {
			return ""
		}
		fmt.Fprintf(h, "%d %x\n", size, last[:n])
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
