package trajectory

import (
	"container/list"
	"errors"
	"io/fs"
	"os"
	"sync"

	"batch.example/batch/internal/mask"
	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// Cache shares attempts between readers. It keeps a bounded number of them, the ones that
// were used last. It is safe for concurrent use; several readers who ask for the same attempt
// at once wait for one reading of its file.
type Cache struct {
	most int

	mu    sync.Mutex
	known map[key]*list.Element // of *cached
	used  list.List             // the last used one first
}

// key names a file that is read once: a journal with all its attempts, or a trajectory.
type key struct {
	dir, instance, file string
	attempt             int // 0 for a journal
}

// cached is an index or a file, or will be one.
type cached struct {
	key   key
	mu    sync.Mutex // held while it is read
	index *journal.Index
	file  *Attempt
	was   os.FileInfo // of the file
}

// NewCache returns a Cache that keeps at most most journals and files.
func NewCache(most int) *Cache {
	return &Cache{most: max(1, most), known: map[key]*list.Element{}}
}

// Attempt returns an attempt, with what was appended to its journal so far. An attempt that
// was returned before can be used on. m hides secrets in what it returns.
func (c *Cache) Attempt(s Source, m *mask.Masker) (*Attempt, error) {
	k := key{s.Dir, s.Instance, s.File, s.Attempt}
	path := results.JournalPath(s.Dir, s.Instance)
	if s.File == "" && s.Attempt != 0 && exists(path) {
		k.attempt = 0
		e := c.entry(k)
		x, err := e.journal(path)
		if err != nil {
			c.forget(e)
			return nil, err
		}
		if a, err := of(x, s, m); !errors.Is(err, fs.ErrNotExist) {
			return a, err
		}
		k.attempt = s.Attempt
	}
	k.instance += "\x00" // not the journal's
	e := c.entry(k)
	a, err := e.finished(s, m)
	if err != nil {
		c.forget(e)
	}
	return a, err
}

// entry returns the entry with a key, which may be new, and drops others.
func (c *Cache) entry(k key) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.known[k]; at != nil {
		c.used.MoveToFront(at)
		return at.Value.(*cached)
	}
	e := &cached{key: k}
	c.known[k] = c.used.PushFront(e)
	for c.used.Len() > c.most {
		last := c.used.Back()
		c.used.Remove(last)
		delete(c.known, last.Value.(*cached).key)
	}
	return e
}

// forget drops an entry that could not be read.
func (c *Cache) forget(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.known[e.key]; at != nil && at.Value.(*cached) == e {
		c.used.Remove(at)
		delete(c.known, e.key)
	}
}

// Len returns how many journals and files it keeps.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}

// journal returns the index of a journal, brought up to date.
func (e *cached) journal(path string) (*journal.Index, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.index != nil {
		_, err := e.index.Update()
		return e.index, err
	}
	x, err := journal.NewIndex(path)
	if err != nil {
		return nil, err
	}
	e.index = x
	return x, nil
}

// finished returns an attempt of a file. It is read again if the file was replaced, or m is another one.
func (e *cached) finished(s Source, m *mask.Masker) (*Attempt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	path := s.File
	if path == "" {
		path = results.TrajectoryPath(s.Dir, s.Instance)
	}
	is, err := os.Stat(path)
	if e.file != nil && e.file.mask == m && err == nil && e.was != nil && os.SameFile(is, e.was) && is.Size() == e.was.Size() && is.ModTime().Equal(e.was.ModTime()) {
		return e.file, nil
	}
	a, err := openFile(s, m)
	if err != nil {
		return nil, err
	}
	e.file, e.was = a, is
	return a, nil
}
