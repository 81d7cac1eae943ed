package finding

// MaxText is the maximum size of a text that leaves the program, in bytes. Names and values in a
// text are the input's, and may have any size.
const MaxText = 8 << 10

// rawText is how much of a text is searched for credentials. It is so much larger than MaxText
// that no part of an address that it splits is left.
const rawText = 8 * MaxText
