package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
)

// alphanumeric are the letters and digits that nothing escapes.
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// encoders are functions with which people write a secret.
var encoders = map[string]func(secret string) string{
	"Go's url.QueryEscape":                url.QueryEscape,
	"Go's url.PathEscape":                 url.PathEscape,
	"Go's html.EscapeString":              html.EscapeString,
	"Go's strconv.Quote":                  inQuotes(strconv.Quote),
	"Go's strconv.QuoteToASCII":           inQuotes(strconv.QuoteToASCII),
	"Go's json.Marshal":                   inQuotes(goJSON),
	"json.Marshal of json.Marshal":        inQuotes(func(s string) string { return goJSON(inQuotes(goJSON)(s)) }),
	"JSON in JSON in JSON":                inQuotes(func(s string) string { return plainJSON(inQuotes(plainJSON)(inQuotes(plainJSON)(s))) }),
	"json.Encoder without HTML":           inQuotes(plainJSON),
	"Python's json.dumps":                 asciiJSON,
	"PHP's json_encode":                   func(s string) string { return strings.ReplaceAll(asciiJSON(s), "/", `\/`) },
	"PHP's json_encode in JSON":           inQuotes(func(s string) string { return plainJSON(strings.ReplaceAll(asciiJSON(s), "/", `\/`)) }),
	"Python's urllib.parse.quote":         percent("_.-~/"),
	"urllib.parse.quote in lower case":    lowerPercent(percent("_.-~/")),
	"urllib.parse.quote with safe=''":     percent("_.-~"),
	"urllib.parse.quote_plus":             plus("_.-~ "),
	"JavaScript's encodeURIComponent":     percent("-_.!~*'()"),
	"JavaScript's encodeURI":              percent("-_.!~*'();/?:@&=+$,#"),
	"encodeURI in JSON":                   inQuotes(func(s string) string { return goJSON(percent("-_.!~*'();/?:@&=+$,#")(s)) }),
	"JavaScript's URLSearchParams":        plus("*-._ "),
	"JavaScript's JSON.stringify":         inQuotes(plainJSON),
	"Python's html.escape":                strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace,
	"PHP's htmlspecialchars":              strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;").Replace,
	"XML":                                 strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;", "\n", "&#10;").Replace,
	"Python's xmlcharrefreplace":          eachRune(func(r rune) bool { return r < 0x80 }, func(r rune) string { return fmt.Sprintf("&#%d;", r) }),
	"HTML, hexadecimal":                   eachRune(isAlphanumeric, func(r rune) string { return fmt.Sprintf("&#x%X;", r) }),
	"Python's ascii":                      pythonASCII,
	"Python's bytes":                      eachByte(func(b byte) bool { return b >= ' ' && b < 0x7f && b != '\\' && b != '\'' }, `\x%02x`),
	"shell's printf %q":                   shellQ,
	"printf %q where it is not UTF-8":     ansiC,
	"single quotes of a shell":            func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) },
	"Python's shlex.quote":                func(s string) string { return strings.ReplaceAll(s, "'", `'"'"'`) },
	"shlex.quote in JSON":                 inQuotes(func(s string) string { return plainJSON(strings.ReplaceAll(s, "'", `'"'"'`)) }),
	"YAML's and SQL's single quotes":      func(s string) string { return strings.ReplaceAll(s, "'", "''") },
	"CSV":                                 func(s string) string { return strings.ReplaceAll(s, `"`, `""`) },
	"hexadecimal":                         func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hexadecimal, upper case":             func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"hexadecimal, upper, in percent form": func(s string) string { return percent("")(strings.ToUpper(hex.EncodeToString([]byte(s)))) },
}

func isAlphanumeric(r rune) bool { return r < 0x80 && strings.ContainsRune(alphanumeric, r) }

func inQuotes(quote func(string) string) func(string) string {
	return func(s string) string { return quote(s)[1 : len(quote(s))-1] }
}

func goJSON(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// asciiJSON is Python's json.dumps, without the quotes.
func asciiJSON(s string) string {
	escape := func(r rune) string {
		if r < 0x80 {
			return string(r)
		}
		return utf16Escape(r)
	}
	return eachRune(func(rune) bool { return false }, escape)(inQuotes(plainJSON)(s))
}

func utf16Escape(r rune) string {
	if r < 0x10000 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}

// pythonASCII is repr(s) and encode("ascii", "backslashreplace").
func pythonASCII(s string) string {
	return eachRune(func(r rune) bool { return r >= ' ' && r < 0x7f && r != '\\' && r != '\'' }, func(r rune) string {
		switch {
		case r == '\n':
			return `\n`
		case r == '\\' || r == '\'':
			return `\` + string(r)
		case r < 0x100:
			return fmt.Sprintf(`\x%02x`, r)
		case r < 0x10000:
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})(s)
}

// eachRune encodes the characters that are not kept.
func eachRune(kept func(rune) bool, encode func(rune) string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if kept(r) {
				b.WriteRune(r)
			} else {
				b.WriteString(encode(r))
			}
		}
		return b.String()
	}
}

// eachByte encodes the bytes that are not kept.
func eachByte(kept func(byte) bool, format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			if kept(s[i]) {
				b.WriteByte(s[i])
			} else {
				fmt.Fprintf(&b, format, s[i])
			}
		}
		return b.String()
	}
}

func percent(safe string) func(string) string {
	return eachByte(func(b byte) bool { return strings.IndexByte(alphanumeric+safe, b) >= 0 }, "%%%02X")
}

// plus writes blanks as plus signs.
func plus(safe string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(percent(safe)(s), " ", "+") }
}

func lowerPercent(encode func(string) string) func(string) string {
	return func(s string) string {
		text := []byte(encode(s))
		for i := range text {
			if text[i] == '%' {
				copy(text[i:], strings.ToLower(string(text[i:i+3])))
			}
		}
		return string(text)
	}
}

// shellQ is bash's printf %q.
func shellQ(s string) string {
	if strings.ContainsAny(s, "\n\t") {
		return strings.ReplaceAll(strings.NewReplacer(`\`, `\\`, "'", `\'`, "\t", `\t`).Replace(s), "\n", `\n`)
	}
	return eachRune(func(r rune) bool { return r >= 0x80 || strings.ContainsRune(alphanumeric+"_@%+=:,./-", r) }, func(r rune) string { return `\` + string(r) })(s)
}

// ansiC is $'...' of bash.
func ansiC(s string) string {
	s = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\t", `\t`, "\n", `\n`).Replace(s)
	return eachByte(func(b byte) bool { return b < 0x80 }, `\%03o`)(s)
}

// randomSecret returns about n characters; encoders change some of them.
func randomSecret(rng *rand.Rand, n int) string {
	special := []rune(`/+=&'"<>%\~ !$*()#?:@;,._-é😀` + "\u007f\n\t")
	s := []rune("Aa1")
	for len(s) < n {
		if rng.IntN(3) == 0 {
			s = append(s, special[rng.IntN(len(special))])
		} else {
			s = append(s, rune(alphanumeric[rng.IntN(len(alphanumeric))]))
		}
	}
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return strings.TrimSpace("x" + string(s) + "x")[rng.IntN(2):]
}

func TestNoEncoderBringsASecretOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 29))
	for i := range 400 {
		secret := strings.TrimSpace(randomSecret(rng, 6+i%60))
		m := mask.New(mask.Secret{Name: "K", Value: secret})
		for name, encode := range encoders {
			text := "before " + encode(secret) + " after"
			if got := m.Text(text); got != "before "+mask.Hidden+" after" {
				t.Errorf("%s: %q gives %q", name, text, got)
			}
			if got := streamed(m, text, rng.IntN(len(text))); got != m.Text(text) {
				t.Errorf("%s: %q gives %q in two writes", name, text, got)
			}
		}
	}
}

// streamed is text masked in two writes.
func streamed(m *mask.Masker, text string, at int) string {
	var b strings.Builder
	w := m.Writer(&b)
	_, _ = w.Write([]byte(text[:at]))
	_, _ = w.Write([]byte(text[at:]))
	_ = w.Flush()
	return b.String()
}

// A secret's first and last bytes share characters of base64 with what is around it.
func TestNoBase64BringsASecretOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 29))
	after := map[string]func(string) string{
		"as it is":           func(s string) string { return s },
		"in a URL":           url.QueryEscape,
		"in PHP's JSON":      func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
		"in a URL, in lower": lowerPercent(url.QueryEscape),
	}
	for i := range 300 {
		secret := strings.TrimSpace(randomSecret(rng, 6+i%60))
		m := mask.New(mask.Secret{Name: "K", Value: secret})
		for offset := range 6 {
			before, behind := strings.Repeat("u", offset), strings.Repeat("\xfbv", rng.IntN(3))
			for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				for name, also := range after {
					text := alphabet.EncodeToString([]byte(before + secret + behind))
					first, last := (offset*8+5)/6, (offset+len(secret))*8/6
					want := also(text[:first]) + mask.Hidden + also(text[last:])
					if got := m.Text(also(text)); got != want {
						t.Errorf("%s: %q in %q gives %q, want %q", name, secret, also(text), got, want)
					}
				}
			}
		}
	}
}
