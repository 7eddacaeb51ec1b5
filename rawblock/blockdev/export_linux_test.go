package blockdev

// OpenBetween is Open with a call between the first look and the opening.
var OpenBetween = open
