/* chrome_simd.h - 64 bytes at a time, at the level the including file was compiled for.
 *
 * KINO__LEVEL is 0 (plain C), 2 (AVX2) or 512 (AVX-512 with VBMI). All levels give the same masks:
 * bit i is byte i. A vkey is a byte in every place of a register, made once before a loop. */
#ifndef KINO__READER_CHROME_SIMD_H
#define KINO__READER_CHROME_SIMD_H

#include <stdint.h>
#include <string.h>

#if KINO__LEVEL >= 2
#    include <immintrin.h>
#endif

/* Bits 0..n-1, n in 0..64. */
static inline uint64_t low_bits(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

#if KINO__LEVEL == 512

typedef __m512i vec64;
typedef __m512i vkey;

static inline vkey v_key(char c)
{
    return _mm512_set1_epi8(c);
}
static inline vec64 v_load(const char *p)
{
    return _mm512_loadu_si512(p);
}
static inline uint64_t v_eq(vec64 v, vkey c)
{
    return _mm512_cmpeq_epi8_mask(v, c);
}
/* Bytes up to and with a key below 0x80. */
static inline uint64_t v_at_most(vec64 v, vkey most)
{
    return _mm512_cmple_epu8_mask(v, most);
}
/* Bytes below 0x20 and from 0x80 on; space is the key of 0x20. */
static inline uint64_t v_unprintable(vec64 v, vkey space)
{
    return _mm512_cmplt_epi8_mask(v, space);
}
/* With bit 0x20 set: letters become small, brackets of both kinds equal. */
static inline vec64 v_lower(vec64 v, vkey space)
{
    return _mm512_or_si512(v, space);
}
/* a to z in the result of v_lower. */
static inline uint64_t v_letters(vec64 lower, vkey a, vkey z)
{
    return _mm512_cmple_epu8_mask(_mm512_sub_epi8(lower, a), _mm512_sub_epi8(z, a));
}
/* Where two texts differ. */
static inline uint64_t v_differ(const char *a, const char *b)
{
    return _mm512_cmpneq_epi8_mask(v_load(a), v_load(b));
}
static inline uint32_t v_differ16(const char *a, const char *b)
{
    return _mm_cmpneq_epi8_mask(_mm_loadu_si128((const __m128i *)(const void *)a),
                                _mm_loadu_si128((const __m128i *)(const void *)b));
}

#elif KINO__LEVEL == 2

typedef struct vec64 {
    __m256i low, high;
} vec64;
typedef __m256i vkey;

static inline vkey v_key(char c)
{
    return _mm256_set1_epi8(c);
}
static inline uint64_t pack(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}
static inline vec64 v_load(const char *p)
{
    return (vec64){_mm256_loadu_si256((const __m256i *)(const void *)p),
                   _mm256_loadu_si256((const __m256i *)(const void *)(p + 32))};
}
static inline uint64_t v_eq(vec64 v, vkey c)
{
    return pack(_mm256_cmpeq_epi8(v.low, c), _mm256_cmpeq_epi8(v.high, c));
}
static inline uint64_t v_at_most(vec64 v, vkey most)
{
    return pack(_mm256_cmpeq_epi8(_mm256_min_epu8(v.low, most), v.low),
                _mm256_cmpeq_epi8(_mm256_min_epu8(v.high, most), v.high));
}
static inline uint64_t v_unprintable(vec64 v, vkey space)
{
    return pack(_mm256_cmpgt_epi8(space, v.low), _mm256_cmpgt_epi8(space, v.high));
}
static inline vec64 v_lower(vec64 v, vkey space)
{
    return (vec64){_mm256_or_si256(v.low, space), _mm256_or_si256(v.high, space)};
}
static inline uint64_t v_letters(vec64 lower, vkey a, vkey z)
{
    vec64 shifted = {_mm256_sub_epi8(lower.low, a), _mm256_sub_epi8(lower.high, a)};
    return v_at_most(shifted, _mm256_sub_epi8(z, a));
}
static inline uint64_t v_differ(const char *a, const char *b)
{
    vec64 x = v_load(a), y = v_load(b);
    return ~pack(_mm256_cmpeq_epi8(x.low, y.low), _mm256_cmpeq_epi8(x.high, y.high));
}
static inline uint32_t v_differ16(const char *a, const char *b)
{
    __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)a),
                                  _mm_loadu_si128((const __m128i *)(const void *)b));
    return ~(uint32_t)_mm_movemask_epi8(same);
}

#else

typedef struct vec64 {
    uint64_t w[8];
} vec64;
typedef uint64_t vkey;

#    define EVERY_BYTE 0x0101010101010101u
#    define HIGH_BITS  0x8080808080808080u

static inline vkey v_key(char c)
{
    return EVERY_BYTE * (unsigned char)c;
}
static inline vec64 v_load(const char *p)
{
    vec64 v;
    memcpy(v.w, p, 64);
    return v;
}
/* One bit for each byte whose high bit is set. */
static inline uint64_t gather(uint64_t high_bits)
{
    return ((high_bits >> 7) * 0x0102040810204080u) >> 56;
}
static inline uint64_t zero_bytes(uint64_t x)
{
    return ~(((x & ~HIGH_BITS) + ~HIGH_BITS) | x) & HIGH_BITS;
}
static inline uint64_t v_eq(vec64 v, vkey c)
{
    uint64_t out = 0;
    for (int i = 0; i < 8; i++)
        out |= gather(zero_bytes(v.w[i] ^ c)) << (8 * i);
    return out;
}
static inline uint64_t v_at_most(vec64 v, vkey most)
{
    uint64_t out = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t t = ((v.w[i] & ~HIGH_BITS) + (~HIGH_BITS - most)) | v.w[i];
        out |= gather(~t & HIGH_BITS) << (8 * i);
    }
    return out;
}
static inline uint64_t v_unprintable(vec64 v, vkey space)
{
    uint64_t out = v_at_most(v, space - EVERY_BYTE);
    for (int i = 0; i < 8; i++)
        out |= gather(v.w[i] & HIGH_BITS) << (8 * i);
    return out;
}
static inline vec64 v_lower(vec64 v, vkey space)
{
    for (int i = 0; i < 8; i++)
        v.w[i] |= space;
    return v;
}
static inline uint64_t v_letters(vec64 lower, vkey a, vkey z)
{
    return v_at_most(lower, z) & ~v_at_most(lower, a - EVERY_BYTE);
}
static inline uint64_t v_differ(const char *a, const char *b)
{
    vec64 x = v_load(a), y = v_load(b);
    uint64_t same = 0;
    for (int i = 0; i < 8; i++)
        same |= gather(zero_bytes(x.w[i] ^ y.w[i])) << (8 * i);
    return ~same;
}
static inline uint32_t v_differ16(const char *a, const char *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    return ~(uint32_t)(gather(zero_bytes(x[0] ^ y[0])) | gather(zero_bytes(x[1] ^ y[1])) << 8);
}

#endif

/* The sum of products of kino__chrome_hash over one block of size <= 64 bytes. */
static inline uint64_t v_hash(const char *text, unsigned size)
{
    static const uint32_t keys[16] = {KINO__HASH_KEYS};
#if KINO__LEVEL == 512
    __m512i v = _mm512_maskz_loadu_epi8((__mmask64)low_bits(size), text);
    v = _mm512_add_epi32(v, _mm512_loadu_si512(keys));
    v = _mm512_mul_epu32(v, _mm512_srli_epi64(v, 32));
    __m256i half = _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i quarter =
        _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint64_t)_mm_cvtsi128_si64(quarter) + (uint64_t)_mm_extract_epi64(quarter, 1);
#elif KINO__LEVEL == 2
    /* from 64 - n on: n bytes of ones, then zeros */
    static const char ones[128] = {[0 ... 63] = -1};
    vec64 v = v_load(text), mask = v_load(ones + 64 - size);
    vec64 k = v_load((const char *)keys);
    __m256i a = _mm256_add_epi32(_mm256_and_si256(v.low, mask.low), k.low);
    __m256i b = _mm256_add_epi32(_mm256_and_si256(v.high, mask.high), k.high);
    __m256i sum = _mm256_add_epi64(_mm256_mul_epu32(a, _mm256_srli_epi64(a, 32)),
                                   _mm256_mul_epu32(b, _mm256_srli_epi64(b, 32)));
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    return (uint64_t)_mm_cvtsi128_si64(half) + (uint64_t)_mm_extract_epi64(half, 1);
#else
    uint32_t words[16] = {0};
    uint64_t sum = 0;
    memcpy(words, text, size);
    for (int i = 0; i < 16; i += 2)
        sum += (uint64_t)(words[i] + keys[i]) * (words[i + 1] + keys[i + 1]);
    return sum;
#endif
}

/* Bit i = parity of bits 0..i. */
static inline uint64_t prefix_xor(uint64_t x)
{
#if KINO__LEVEL >= 2
    __m128i all = _mm_set1_epi8((char)0xff);
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)x), all, 0));
#else
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
#endif
}

#if KINO__LEVEL >= 2
/* The value of 16 decimal digits, given as numbers 0 to 9. */
static inline uint64_t join_digits(__m128i d)
{
    d = _mm_maddubs_epi16(d, _mm_set1_epi16(0x010a));
    d = _mm_madd_epi16(d, _mm_set1_epi32(0x00010064));
    d = _mm_packus_epi32(d, d);
    d = _mm_madd_epi16(d, _mm_set1_epi32(0x00012710));
    uint64_t pair = (uint64_t)_mm_cvtsi128_si64(d);
    return (pair & 0xffffffffu) * 100000000u + (pair >> 32);
}
#endif

/* Up to 16 leading decimal digits at p: their number, and their value in *out. */
static inline unsigned read_digits(const char *p, uint64_t *out)
{
#if KINO__LEVEL >= 2
    static const char shift[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                   0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};
    __m128i d = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
    __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d);
    unsigned n = (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(is_digit) | 0x10000u);
    /* right-align: the last digit in byte 15, zeros before the first */
    *out = join_digits(
        _mm_shuffle_epi8(d, _mm_loadu_si128((const __m128i *)(const void *)(shift + n))));
    return n;
#else
    uint64_t value = 0;
    unsigned n = 0;
    while (n < 16 && (unsigned char)(p[n] - '0') <= 9) {
        value = value * 10 + (unsigned char)(p[n] - '0');
        n++;
    }
    *out = value;
    return n;
#endif
}

/* A time as Kineto writes it, one to thirteen digits, a point and three digits, in thousandths: its
 * length, or 0 when it has another form (or more digits follow). */
static inline unsigned read_kineto_time(const char *p, uint64_t *out)
{
#if KINO__LEVEL == 512
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i d = _mm256_sub_epi8(v, _mm256_set1_epi8('0'));
    uint32_t others = _mm256_cmpgt_epu8_mask(d, _mm256_set1_epi8(9));
    unsigned n = _tzcnt_u32(others);
    unsigned after = _tzcnt_u32(others & (others - 1));
    if (after - n != 4 || n - 1 > 12 || p[n] != '.')
        return 0;
    /* leave the point out and right-align the n + 3 digits */
    static const char places[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16};
    __m128i index = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)places),
                                 _mm_set1_epi8((char)(13 - n)));
    __m256i digits = _mm256_maskz_permutexvar_epi8(0xffffu & (0xffffu << (13 - n)),
                                                   _mm256_castsi128_si256(index), d);
    *out = join_digits(_mm256_castsi256_si128(digits));
    return n + 4;
#else
    uint64_t whole;
    unsigned n = read_digits(p, &whole);
    uint32_t tail;
    memcpy(&tail, p + n, 4);
    if (n - 1 > 12 || (tail & 0xff) != '.' || (unsigned char)(p[n + 4] - '0') <= 9)
        return 0;
    tail >>= 8;
    if (((tail & 0xf0f0f0) ^ 0x303030) | (((tail + 0x060606) & 0xf0f0f0) ^ 0x303030))
        return 0;
    /* three digits: below 1000 in 32 bits; a wider product is slower code
     * NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    *out = whole * 1000 + (tail & 15) * 100 + (tail >> 8 & 15) * 10 + (tail >> 16 & 15);
    return n + 4;
#endif
}

#endif
