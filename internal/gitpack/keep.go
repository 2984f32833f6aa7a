package gitpack

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Keep reads the ids of objects, one to a line, and writes for each pack in the folder from
// a new pack in the folder to, with the objects on the list and no others. An object that
// several packs have is kept in one of them. If both folders have the same name, a pack
// without other objects stays as it is. Keep removes nothing.
//
// It writes to out a line "pack NAME" for each pack in the folder to that has objects on the
// list, without its folder and its ending, and a line "rest ID" for each object on the list
// that is in no pack. On an error, new packs may be left, and nothing of the list may be
// taken for done.
func Keep(from, to string, list io.Reader, out io.Writer) error {
	packs, err := openAll(from)
	defer func() {
		for _, p := range packs {
			_ = p.file.Close() // it was only read
		}
	}()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	kept, err := choose(packs, list, w)
	if err != nil {
		return err
	}
	for i, p := range packs {
		n := kept[i].count()
		if n == 0 {
			continue
		}
		name := p.name
		if n < p.len() || from != to {
			if name, err = cutPack(p, kept[i], to); err != nil {
				return &os.PathError{Op: "copying from", Path: p.name + ".pack", Err: err}
			}
		}
		if _, err := w.WriteString("pack " + filepath.Base(name) + "\n"); err != nil {
			return err
		}
	}
	return w.Flush()
}

var errNoID = errors.New("a line of the list is not an id")

// openAll opens the packs in dir. On an error it returns the packs opened so far.
func openAll(dir string) ([]*pack, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var packs []*pack
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".idx")
		if !ok || !strings.HasPrefix(name, "pack-") { // git packs what others have
			continue
		}
		p, err := openPack(filepath.Join(dir, name))
		if err != nil {
			return packs, err
		}
		packs = append(packs, p)
	}
	return packs, nil
}

// choose says for each pack which objects on the list stay there, and writes to out those
// that are in none.
func choose(packs []*pack, list io.Reader, out io.Writer) ([]keep, error) {
	kept := make([]keep, len(packs))
	for i, p := range packs {
		kept[i] = make(keep, p.len())
	}
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		line := lines.Bytes()
		var id [idSize]byte
		if len(line) != hex.EncodedLen(idSize) {
			return nil, errNoID
		}
		if _, err := hex.Decode(id[:], line); err != nil {
			return nil, errNoID
		}
		if !mark(packs, kept, id[:]) {
			if _, err := io.WriteString(out, "rest "+string(line)+"\n"); err != nil {
				return nil, err
			}
		}
	}
	return kept, lines.Err()
}

// mark keeps the object in the first pack that has it.
func mark(packs []*pack, kept []keep, id []byte) bool {
	for i, p := range packs {
		if object, ok := p.find(id); ok {
			kept[i][object] = true
			return true
		}
	}
	return false
}
