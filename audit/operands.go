package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
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
// the value of a flag that valued matches.
func behindFlags(args []string, valued *regexp.Regexp) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		if valued.MatchString(args[0]) {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	return args
}

// inPlace matches -i of sed, perl or ruby, alone or with other flags.
var inPlace = lazy.Regexp(`^(?:--in-place|-[Enrzsplw0]*i)`)

// scripted returns the files in the arguments of sed or perl: the operands behind the
// script, which is the first of them unless a flag has it.
func scripted(args []string) []string {
	plain := operands(args)
	given := slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-e") || strings.HasPrefix(a, "--expression") || isFlags(a) && strings.HasSuffix(a, "e")
	})
	if given {
		return plain // with the script
	}
	return plain[min(1, len(plain)):]
}

// copies returns what cp, mv, install or ln read and write. A last operand that may be a directory counts
// as a file and as a directory.
func copies(args []string) (from, to []string) {
	into := ""
	for i, a := range args {
		if dir, long := strings.CutPrefix(a, "--target-directory="); long {
			into = dir
		} else if i+1 < len(args) && (a == "-t" || a == "--target-directory") {
			into = args[i+1]
		}
	}
	from = operands(args)
	if into == "" && len(from) > 1 {
		from, into = from[:len(from)-1], from[len(from)-1]
		to = []string{into}
	}
	if into == "" || to != nil && isFileName(into) {
		return from, to
	}
	for _, f := range from {
		if path.Base(f) != path.Base(into) {
			to = append(to, path.Join(into, path.Base(f)))
		}
	}
	return from, to
}

// isFileName reports whether a path has the ending of a file. A version, as in python3.9, does not count.
func isFileName(p string) bool {
	return !strings.HasSuffix(p, "/") && path.Ext(strings.Trim(path.Base(p), ".0123456789")) != ""
}

// isFlags reports whether an argument is several flags of one letter each.
func isFlags(a string) bool {
	return len(a) > 1 && a[0] == '-' && a[1] != '-' && !strings.ContainsAny(a, "=.:/")
}
