package imagecache

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// History is a volume of the engine with the scrubbed git history of an image. It stays
// after a run, because scrubbing a large history again takes seconds.
type History struct {
	Volume string    `json:"volume"`
	Image  string    `json:"image"` // id
	Bytes  int64     `json:"bytes"`
	Used   time.Time `json:"used"`
}

const (
	historiesBytes = 2 << 30 // how much all histories may use together
	historyLife    = 7 * 24 * time.Hour
)

func (l *Ledger) histories() string { return filepath.Join(l.dir, "histories") }

// historyFile is a file of the ledger with a history. A damaged one has no volume.
type historyFile struct {
	path string
	History
}

func (l *Ledger) historyFiles() []historyFile {
	entries, _ := os.ReadDir(l.histories())
	var files []historyFile
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" { // another process is writing it
			continue
		}
		f := historyFile{path: filepath.Join(l.histories(), e.Name())}
		_ = readJSON(f.path, &f.History)
		files = append(files, f)
	}
	return files
}

// Histories returns all histories that were kept. The engine may no longer have their volumes.
func (l *Ledger) Histories() []History {
	var list []History
	for _, f := range l.historyFiles() {
		if f.Volume != "" {
			list = append(list, f.History)
		}
	}
	return list
}

// History returns the volume that was saved under key. The engine may no longer have it.
func (c *Cache) History(key string) (History, bool) {
	var h History
	err := readJSON(keyPath(c.ledger.histories(), key), &h)
	return h, err == nil && h.Volume != ""
}

// KeepHistory saves that h was used now, under key, for every run on the engine.
func (c *Cache) KeepHistory(key string, h History) error {
	h.Used = time.Now()
	return writeJSON(keyPath(c.ledger.histories(), key), h)
}

// Histories returns the volumes that stay, and the volumes that the caller must remove. A
// volume stays as long as its image exists, it was used within a week, and it fits into two
// gigabytes together with the volumes used later. No volume stays while disk space is short.
func (c *Cache) Histories(ctx context.Context) (stay, gone []string, err error) {
	files := c.ledger.historyFiles()
	if len(files) == 0 {
		return nil, nil, nil
	}
	ids, err := c.engine.IDs(ctx)
	if err != nil {
		return nil, nil, err
	}
	free, known, err := c.engine.DiskFree(ctx)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(files, func(a, b historyFile) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.path, b.path)) })
	var sum int64
	for _, f := range files {
		if ids[f.Image] && sum+f.Bytes <= historiesBytes && time.Since(f.Used) < historyLife && !(known && free < 2*c.o.Reserve) {
			stay, sum = append(stay, f.Volume), sum+f.Bytes
			continue
		}
		_ = os.Remove(f.path) // also a damaged one, without an image; if it stays, it names a missing volume
		if f.Volume != "" {
			gone = append(gone, f.Volume)
		}
	}
	return stay, gone, nil
}
