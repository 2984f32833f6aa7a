// Package predictions reads files of predictions, in every form that tools write them: it is
// the only reader of preds.json and its kin. What it returns is what the file has, or an
// error that names the file, the line or entry, and what was expected there.
package predictions
