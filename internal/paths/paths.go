// Package paths completes paths for shell completion: it lists the files and folders whose
// path begins with a word on the command line.
package paths

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFolders is how many folders are searched for run directories.
const maxFolders = 200

// RunDirectories returns the folders whose path begins with prefix: first the run
// directories, including those one level deeper (runs/NAME), then the others.
func RunDirectories(home, prefix string) []string {
	var runs, others []string
	isRun := func(path string) bool {
		return slices.ContainsFunc([]string{"manifest.json", "preds.json"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(expand(home, path), name))
			return err == nil
		})
	}
	for i, path := range folders(home, prefix) {
		if isRun(path) {
			runs = append(runs, strings.TrimSuffix(path, "/")+"\trun directory")
			continue
		}
		others = append(others, path)
		if i >= maxFolders {
			continue
		}
		for _, below := range folders(home, path) {
			if isRun(below) {
				runs = append(runs, strings.TrimSuffix(below, "/")+"\trun directory")
			}
		}
	}
	return append(runs, others...)
}

// folders returns the folders among Files.
func folders(home, prefix string) []string {
	return slices.DeleteFunc(Files(home, prefix, "/"), func(p string) bool { return !strings.HasSuffix(p, "/") })
}

// Files returns the folders and files whose path begins with prefix. Folders end in a /.
// If endings are given, only files with one of them are returned. Hidden files and folders
// are returned only if prefix has their dot.
func Files(home, prefix string, endings ...string) []string {
	dir, base := prefix[:strings.LastIndex(prefix, "/")+1], prefix[strings.LastIndex(prefix, "/")+1:]
	at := filepath.Join(expand(home, dir), ".")
	entries, _ := os.ReadDir(at) // what cannot be read offers nothing
	var list []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || name[0] == '.' && !strings.HasPrefix(base, ".") {
			continue
		}
		path := dir + name
		info, err := os.Stat(filepath.Join(at, name)) // a link to a folder is a folder
		switch {
		case err != nil:
		case info.IsDir():
			list = append(list, path+"/")
		case len(endings) == 0 || slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) }):
			list = append(list, path)
		}
	}
	return list
}

// expand resolves the ~ that a shell leaves in a word that it completes.
func expand(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}
