package merging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// sameInstance reports whether two directories have the same journal, prediction and grades of an
// instance. The other files follow from these.
func sameInstance(id string, a, b *input) (bool, error) {
	if a.folders[id] != b.folders[id] || !bytes.Equal(a.entries[id], b.entries[id]) {
		return false, nil
	}
	gradesA, errA := json.Marshal(a.gradesOf(id))
	gradesB, errB := json.Marshal(b.gradesOf(id))
	if err := errors.Join(errA, errB); err != nil || !bytes.Equal(gradesA, gradesB) {
		return false, err
	}
	if !a.folders[id] {
		return true, nil
	}
	return sameFile(filepath.Join(a.dir, id, journalFile), filepath.Join(b.dir, id, journalFile))
}

// sameFile reports whether two files are equal byte for byte, or both missing.
func sameFile(a, b string) (bool, error) {
	fileA, errA := regular.Open(a)
	fileB, errB := regular.Open(b)
	if errA == nil {
		defer fileA.Close()
	}
	if errB == nil {
		defer fileB.Close()
	}
	if errors.Is(errA, fs.ErrNotExist) || errors.Is(errB, fs.ErrNotExist) {
		return errA != nil && errB != nil, nil
	}
	if err := errors.Join(errA, errB); err != nil {
		return false, atomicfile.Fault("comparing journals", err)
	}
	same, err := sameBytes(fileA, fileB)
	return same, atomicfile.Fault("comparing journals", err)
}

func sameBytes(a, b io.Reader) (bool, error) {
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return false, err
			}
		}
		if errA != nil { // both have ended, because they were as long
			return true, nil
		}
	}
}
