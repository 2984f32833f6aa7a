package search

import "regexp/syntax"

// requiredIn returns a text that every match of an expression contains: the longest one that is easy to find.
// Looking for it first is many times as fast as the expression, and most texts do not contain it.
func requiredIn(expr string) []byte {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return []byte(required(re))
}

func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}
