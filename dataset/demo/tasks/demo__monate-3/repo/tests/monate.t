use strict;
use warnings;
use lib 'lib';
use Monate;

my ($count, $failed) = (0, 0);

sub is {
    my ($got, $want, $name) = @_;
    $count++;
    if ($got eq $want) {
        print "ok $count $name\n";
        return;
    }
    $failed++;
    print "not ok $count $name\n# got $got, want $want\n";
}

is(Monate::number('Januar'), 1, 'number of Januar');
is(Monate::number('MAI'), 5, 'case does not matter');
is(Monate::number('März'), 3, 'number of a name with an umlaut');
is(Monate::number('Brumaire'), 0, 'other names are no month');
is(Monate::name(3), 'März', 'name with an umlaut');
print "1..$count\n";
exit($failed ? 1 : 0);
