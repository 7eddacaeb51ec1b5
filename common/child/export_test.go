package child

// For tests of this package from outside, which may use labtest.
var Say = say
