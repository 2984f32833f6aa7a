package search

import "batch.example/batch/internal/lazy"

// testName matches the name of a file that looks like a test, in the languages of the datasets.
const testName = `(?:[\w.@+-]+/)*(?:` +
	`(?:tests?|testing|__tests__|spec|specs)/[\w.@+/-]*[\w@+-]+\.\w+|` +
	`(?:test_[\w.-]+|[\w.-]+_tests?)\.\w+|` +
	`conftest\.py|` +
	`[\w-]+\.(?:test|spec)\.\w+|` +
	`[A-Z]\w*Tests?\.(?:java|kt|scala|cs|php|groovy)|` +
	`[\w-]+_spec\.rb)`

var (
	testFile    = lazy.Regexp(`(?:^|[\s"'=:>(/])(` + testName + `)(?:$|[^\w./-])`)
	testInPatch = lazy.Regexp(`(?m)^(?:\+\+\+ b/|--- a/|rename to )(` + testName + `)\s*$`)
)
