package audit

import (
	"path"
	"slices"
	"strings"
)

// operands returns the arguments that are not flags.
func operands(args []string) []string {
	var list []string
	for i, a := range args {
		if a == "--" {
			return append(list, args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			list = append(list, a)
		}
	}
	return list
}

// behindFlags returns the arguments from the first one that is neither a flag nor
// the value of a flag in valued.
func behindFlags(args, valued []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		if slices.Contains(valued, args[0]) {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	return args
}

// inPlace reports whether an argument of sed or perl is -i, alone or with other flags.
func inPlace(a string) bool {
	if strings.HasPrefix(a, "--") {
		return strings.HasPrefix(a, "--in-place")
	}
	if !strings.HasPrefix(a, "-") {
		return false
	}
	flags, _, _ := strings.Cut(a[1:], ".") // -i.bak
	return strings.Contains(flags, "i") && strings.Trim(flags, "Enrzspi0lw") == "" || strings.HasPrefix(a, "-i")
}

// scripted returns the files in the arguments of sed or perl: the operands behind the
// script, which is the first of them unless a flag has it.
func scripted(args []string) []string {
	var list []string
	given := false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-e" || a == "-f" || a == "--expression" || a == "--file" || len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "e") && !strings.Contains(a, "."):
			given = true
			i++
		case strings.HasPrefix(a, "-e") || strings.HasPrefix(a, "--expression="):
			given = true
		case a == "" || strings.HasPrefix(a, "-"): // -i ” of BSD
		default:
			list = append(list, a)
		}
	}
	if !given && len(list) > 0 {
		list = list[1:]
	}
	return list
}

// copies returns what cp, mv, install or ln read and write. A last operand that may be a directory counts
// as a file and as a directory.
func copies(args []string) (from, to []string) {
	into := ""
	for i := 0; i < len(args); i++ {
		a := args[i]
		dir, long := strings.CutPrefix(a, "--target-directory=")
		short := len(a) > 1 && a[0] == '-' && a[1] != '-'
		switch {
		case long:
			into = dir
		case i+1 < len(args) && (a == "--target-directory" || short && a[len(a)-1] == 't'):
			i++
			into = args[i]
		case short && len(a) == 2 && strings.Contains("mogS", a[1:]): // the modes of install, a suffix
			i++
		case a == "--":
			from = append(from, args[i+1:]...)
			i = len(args)
		case !strings.HasPrefix(a, "-"):
			from = append(from, a)
		}
	}
	given := into != ""
	if !given {
		if len(from) < 2 {
			return nil, nil
		}
		last := len(from) - 1
		from, into = from[:last], from[last]
		to = []string{into}
		if last == 1 && isFileName(into) {
			return from, to
		}
	}
	for _, f := range from {
		if given || path.Base(f) != path.Base(into) {
			to = append(to, path.Join(into, path.Base(f)))
		}
	}
	return from, to
}

// isFileName reports whether a path has the ending of a file. A version, as in python3.9, does not count.
func isFileName(p string) bool {
	return !strings.HasSuffix(p, "/") && path.Ext(strings.Trim(path.Base(p), ".0123456789")) != ""
}
