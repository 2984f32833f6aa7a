package audit

import (
	"strings"

	"batch.example/batch/internal/lazy"
)

// requesting matches where code opens a connection. The address is in one of the groups.
var requesting = lazy.Regexp(`(?:urlopen|urlretrieve|\brequests\.(?:get|post|put|head|request|delete|patch)|\bhttpx\.(?:get|post|stream)|` +
	`\b(?:HTTPS?Connection|create_connection)|\bfetch|\bhttps?\.get|Net::HTTP\.get|URI\.open)\(+\s*(?:['"](?:GET|POST|HEAD)['"]\s*,\s*)?[rbuf]?(?:['"]([^'"\n]+)['"]|(\w+))`)

// urlNamed matches where code gives an address a name.
var urlNamed = lazy.Regexp(`(?m)^\s*(?:const |let |var )?(\w+)\s*=\s*[rbuf]?['"](https?://[^'"\n]+)['"]`)

// mocked matches code that answers its requests itself.
var mocked = lazy.Regexp(`\b(?:requests_mock|responses|httpretty|vcr|nock|MockTransport|monkeypatch|mock)\b`)

// reaches returns the part of code that reaches another host; empty if there is none.
func (c code) reaches() string {
	if mocked().MatchString(c.text) {
		return ""
	}
	names := map[string]string{}
	for _, m := range urlNamed().FindAllStringSubmatch(c.text, -1) {
		names[m[1]] = m[2]
	}
	for _, m := range requesting().FindAllStringSubmatch(c.text, -1) {
		address := m[1] + names[m[2]]
		host := strings.Contains(m[0], "onnection(") && strings.Contains(address, ".")
		if (host || strings.Contains(address, "://")) && !isLocal(address) {
			return m[0]
		}
	}
	return ""
}
