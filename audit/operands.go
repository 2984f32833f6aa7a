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

// destinations returns what cp writes: the last operand, and if it is a directory the files in it.
func destinations(plain []string) []string {
	if len(plain) < 2 {
		return nil
	}
	to := plain[len(plain)-1]
	list := []string{to}
	for _, from := range plain[:len(plain)-1] {
		if path.Base(from) != path.Base(to) {
			list = append(list, path.Join(to, path.Base(from)))
		}
	}
	return list
}
