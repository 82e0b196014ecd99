// C++ exceptions: the unwinder of the language runs over the same frames, and leaves by landing pads.
#include "shadow.h"

#include <stdexcept>
#include <string>

namespace
{
struct Counter {
    int &left;
    explicit Counter(int &n) : left(n) { left++; }
    ~Counter() { left--; }
};

int descend(int depth, int &left)
{
    Counter counter(left);
    if (depth == 0)
        throw std::runtime_error("bottom");
    return descend(depth - 1, left) + left;
}
} // namespace

int throw_through(int depth)
{
    int left = 0;
    try {
        return descend(depth, left);
    } catch (const std::exception &e) {
        return left + static_cast<int>(std::string(e.what()).size());
    }
}
