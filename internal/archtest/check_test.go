package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// pkg is what the go command reports about a package.
type pkg struct {
	ImportPath, Dir, Name             string
	Imports                           []string
	GoFiles, CgoFiles, IgnoredGoFiles []string
}

// source is a file, and where its nodes stand.
type source struct {
	*ast.File
	set *token.FileSet
}

// importViolations says which imports break the rules.
func importViolations(list []pkg) []string {
	var found []string
	for _, p := range list {
		from := roomOf(p.ImportPath)
		allowed, known := mayImport[from]
		if strings.HasPrefix(from, "internal/") {
			allowed, known = mayImport["internal"], true
		}
		if !known {
			found = append(found, fmt.Sprintf("%s: no rule says what room %q may import", p.ImportPath, from))
			continue
		}
		for _, path := range p.Imports {
			if why := forbidden(from, allowed, path); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", p.ImportPath, path, why))
			}
		}
	}
	return found
}

// forbidden says why the room from, which may import allowed, must not import path.
func forbidden(from string, allowed []string, path string) string {
	for mod, room := range onlyIn {
		if within(path, mod) && from != room {
			return "that belongs to " + room + " alone"
		}
	}
	if !within(path, module) {
		return ""
	}
	to := roomOf(path)
	if to == from || slices.Contains(forAll, to) || slices.Contains(allowed, to) || slices.Contains(allowed, "*") {
		return ""
	}
	return fmt.Sprintf("%q may import only %q", from, allowed)
}

// leaves are rooms within another one, which others may know without the rest of it.
var leaves = []string{"run/control", "run/engines", "sandbox/engine", "sandbox/images"}

// roomOf is the room that the package with an import path of this module belongs to.
func roomOf(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for _, leaf := range leaves {
		if within(path, leaf) {
			return leaf
		}
	}
	first, rest, _ := strings.Cut(path, "/")
	if first != "internal" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return first + "/" + second
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// doorViolations reports where a file of the package with path uses what only the command
// may.
func doorViolations(path string, file source) []string {
	if slices.Contains(doors, roomOf(path)) {
		return nil
	}
	var found []string
	report := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s is for cmd/batch alone", file.set.Position(n.Pos()), what))
	}
	names := map[string]string{} // a package's name in this file -> its path
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		local := imported[strings.LastIndex(imported, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = imported
		if slices.Contains(atTheDoor[imported], "*") || local == "." && atTheDoor[imported] != nil {
			report(spec, "importing "+imported)
		}
	}
	ast.Inspect(file.File, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(atTheDoor[names[x.Name]], sel.Sel.Name) {
				report(sel, x.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return found
}
