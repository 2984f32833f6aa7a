package Monate;

# Namen der Monate, für Rechnungen und Mahnungen.
# Diese Datei ist in ISO-8859-1 gespeichert, wie alle Vorlagen des Hauses.

use strict;
use warnings;

my @NAMES = qw(Januar Februar März April Mai Juni Juli August
               September Oktober November Dezember);

my %NUMBER;
@NUMBER{map { fold($_) } @NAMES} = 1 .. 12;

# fold gives the form in which names are compared.
sub fold {
    my ($name) = @_;
    return lc $name;
}

# number returns 1 to 12, or 0 for a name that is no month.
sub number {
    my ($name) = @_;
    return $NUMBER{fold($name)} || 0;
}

# name is the reverse of number.
sub name {
    my ($number) = @_;
    return $NAMES[$number - 1];
}

1;
